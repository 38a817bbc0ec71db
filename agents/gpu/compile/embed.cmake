# Turns the include tree into C arrays: cmake -DDIR=<include> -DOUT=<file.c> -P embed.cmake
# 'aliases' maps further header names to files; an alias includes the file it names.
file(GLOB_RECURSE files RELATIVE ${DIR} ${DIR}/*.h)
list(SORT files)
set(arrays "")
set(table "")
set(n 0)
foreach(f IN LISTS files)
  file(READ ${DIR}/${f} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "((0x[0-9a-f][0-9a-f],)(0x[0-9a-f][0-9a-f],)(0x[0-9a-f][0-9a-f],)(0x[0-9a-f][0-9a-f],)(0x[0-9a-f][0-9a-f],)(0x[0-9a-f][0-9a-f],)(0x[0-9a-f][0-9a-f],)(0x[0-9a-f][0-9a-f],))" "\\1\n" bytes "${bytes}")
  string(APPEND arrays "static const char s_file_${n}[] = {\n${bytes}0};\n")
  string(APPEND table "    {\"${f}\", s_file_${n}, sizeof s_file_${n} - 1, false},\n")
  math(EXPR n "${n} + 1")
endforeach()
file(STRINGS ${DIR}/aliases lines)
foreach(line IN LISTS lines)
  if(line MATCHES "^([^# ]+) ([^ ]+)$")
    set(text "#include \\\"${CMAKE_MATCH_2}\\\"\\n")
    string(APPEND table "    {\"${CMAKE_MATCH_1}\", \"${text}\", sizeof \"${text}\" - 1, true},\n")
  endif()
endforeach()
file(WRITE ${OUT}.new "// Made from agents/gpu/compile/include by embed.cmake; do not edit.
#include \"agents/gpu/compile/kc_compile_int.h\"
#include \"common/util/kc_mem.h\"

#include <string.h>

${arrays}
static const kc_prelude_file_t s_files[] = {
${table}};

const kc_prelude_file_t *kc_prelude_files (size_t *n_p)
{
    *n_p = KC_COUNT (s_files);
    return s_files;
}

const kc_prelude_file_t *kc_prelude_find (const char *name, size_t size)
{
    for (size_t i = 0; i < KC_COUNT (s_files); i++)
        if (strlen (s_files[i].name) == size && memcmp (s_files[i].name, name, size) == 0)
            return &s_files[i];
    return NULL;
}

void kc_prelude_hash (char hex[KC_SHA_HEX])
{
    kc_sha_t sha;
    kc_sha_init (&sha);
    for (size_t i = 0; i < KC_COUNT (s_files); i++) {
        kc_sha_str (&sha, s_files[i].name);
        kc_sha_str (&sha, s_files[i].text);
    }
    kc_sha_hex (&sha, hex);
}
")
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
