#pragma once
#include <string>
#include <vector>

namespace reprise::tool {

/// Each command gets what follows its name and returns the process's exit code; it prints on stdout.
int info(const std::vector<std::string>& args);        ///< version, CPU, devices
int ops(const std::vector<std::string>& args);         ///< every operator: schema, dtypes, how it is computed
int gguf(const std::vector<std::string>& args);        ///< what a GGUF file holds
int show(const std::vector<std::string>& args);        ///< what an exported program is
int diff(const std::vector<std::string>& args);        ///< in what two of them differ; 1 if they do
int settings(const std::vector<std::string>& args);    ///< every environment variable
int log_schema(const std::vector<std::string>& args);  ///< the JSON Schema of a REPRISE_LOG_FILE's lines
int explain(const std::vector<std::string>& args);     ///< REPRISE_LOG_FILEs as a readable account
int report(const std::vector<std::string>& args);      ///< the same, and a timeline, as one HTML file

}  // namespace reprise::tool
