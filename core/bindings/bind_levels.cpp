// Which instruction-set levels this processor and its operating system can run.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings.hpp"

namespace treecv::bindings {

static std::vector<std::string> levels() {
    std::vector<std::string> known;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) known.emplace_back("v4");
    if (__builtin_cpu_supports("x86-64-v3")) known.emplace_back("v3");
#endif
    known.emplace_back("v1");
    return known;
}

void bind_levels(nanobind::module_& module) {
    module.def("levels", &levels, "The instruction-set levels that this machine can run, best first.");
}

}  // namespace treecv::bindings
