// expect: compile() takes a function, a lambda, an object with operator() or a member function: this is none
#include "reprise/reprise.h"
int main() { reprise::compile(reprise::ones({2})); }
