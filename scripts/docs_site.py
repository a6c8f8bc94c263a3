"""What MkDocs is told (mkdocs.yml, hooks): pages of the root, links between pages that are only named, and fences without the words that tests read."""
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
OF_ROOT = {"README.md": "index.md", "SECURITY.md": "security.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}


def on_files(files, config):
    for name, page in OF_ROOT.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text()))
    files.append(File.generated(config, "api/index.html", content="made by Doxygen"))
    return files


def on_page_markdown(markdown, page, config, files):
    up = "../" * page.file.src_uri.count("/")
    # Comments that hold code, and words behind `cpp`.
    markdown = re.sub(r"^<!-- cpp.*?^-->\n", "", markdown, flags=re.S | re.M)
    markdown = re.sub(r"^```(cpp|text) .*$", r"```\1", markdown, flags=re.M)
    # Pages of the root, from there and from docs/.
    for name, to in OF_ROOT.items():
        markdown = re.sub(rf"\]\((?:\.\./)*{re.escape(name)}(#[^)]*)?\)", rf"]({up}{to}\1)", markdown)
        markdown = re.sub(rf"(?<!\[)`{re.escape(name)}`(?!\])", f"[`{name}`]({up}{to})" if page.file.src_uri != to else f"`{name}`", markdown)
    markdown = re.sub(r"\]\(docs/", f"]({up}", markdown)
    # `docs/logs.md` is a link where it is not one already.
    pages = {f.src_uri for f in files.documentation_pages()}
    outside = re.split(r"(^```.*?^```$)", markdown, flags=re.S | re.M)
    for i in range(0, len(outside), 2):
        outside[i] = re.sub(r"(?<!\[)`docs/([\w/]+\.md)`(?!\])", lambda m: f"[`docs/{m[1]}`]({up}{m[1]})" if m[1] in pages and m[1] != page.file.src_uri else m[0], outside[i])
    return "".join(outside)
