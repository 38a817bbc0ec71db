# Flags, packages and the three functions every room uses: kc_library, kc_program, kc_test.
option(KC_WERROR "warnings are errors" OFF)
set(KC_SANITIZE "" CACHE STRING "sanitizers, e.g. address,undefined")

find_package(PkgConfig REQUIRED)
pkg_check_modules(CZMQ REQUIRED IMPORTED_TARGET libczmq>=4.2.1)
pkg_check_modules(ZMQ REQUIRED IMPORTED_TARGET libzmq>=4.3.4)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.14)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3>=3.40)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium>=1.0.18)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
find_package(Threads REQUIRED)

add_library(kc_flags INTERFACE)
target_compile_features(kc_flags INTERFACE c_std_11)
target_compile_definitions(kc_flags INTERFACE _GNU_SOURCE KC_VERSION="${PROJECT_VERSION}")
target_include_directories(kc_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(kc_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wstrict-prototypes -Wmissing-prototypes
  -Wold-style-definition -Wvla -Wformat=2 -Wcast-qual -Wpointer-arith -Wwrite-strings -Wswitch-enum
  $<$<C_COMPILER_ID:GNU>:-Wlogical-op -Wduplicated-cond -Wduplicated-branches -Warith-conversion>
  # cmocka's assert_non_null returns as far as the compiler knows, so tests go without this one
  $<$<AND:$<C_COMPILER_ID:GNU>,$<NOT:$<BOOL:$<TARGET_PROPERTY:KC_IS_TEST>>>>:-Wnull-dereference>
  $<$<BOOL:${KC_WERROR}>:-Werror>
  -fno-omit-frame-pointer -g)
if(KC_SANITIZE)
  target_compile_options(kc_flags INTERFACE -fsanitize=${KC_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(kc_flags INTERFACE -fsanitize=${KC_SANITIZE})
else()
  target_compile_options(kc_flags INTERFACE $<$<CONFIG:Release>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
    -fstack-protector-strong -fstack-clash-protection -fcf-protection>)
  target_link_options(kc_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()

# kc_library(name SOURCES a.c ... LIBS x ...): a static library; headers are included from the source root
# ("common/util/kc_err.h").
function(kc_library name)
  cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  target_link_libraries(${name} PUBLIC kc_flags ${A_LIBS})
endfunction()

# kc_program(name SOURCES main.c LIBS x ...): an executable in bin/.
function(kc_program name)
  cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE kc_flags ${A_LIBS})
  # A node bundle puts libraries beside the programs; RPATH (not RUNPATH) also serves the libraries' own needs.
  set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN/../lib")
  target_link_options(${name} PRIVATE -Wl,--disable-new-dtags)
endfunction()

# kc_test(name SOURCES t.c LIBS x ... [LABELS unit] [TIMEOUT s]): a cmocka binary registered with CTest.
function(kc_test name)
  cmake_parse_arguments(A "" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 60)
  endif()
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE kc_flags ${A_LIBS} PkgConfig::CMOCKA)
  set_target_properties(${name} PROPERTIES KC_IS_TEST ON)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${A_TIMEOUT} LABELS "${A_LABELS}")
endfunction()
