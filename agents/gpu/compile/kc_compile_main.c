// kc_compile_main.c - "kc-runner compile" as a program of its own, for tests

#include <string.h>

#include "agents/gpu/compile/kc_compile.h"

int main (int argc, char **argv)
{
    if (argc != 2 || strcmp (argv[1], "compile") != 0)
        return 2;
    return kc_compile_child (3, 4);
}
