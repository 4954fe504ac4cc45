// The table of contents of the core.
#include <nanobind/nanobind.h>

#include "bindings.hpp"

NB_MODULE(TREECV_MODULE, module) {
    treecv::bindings::bind_levels(module);
    treecv::bindings::bind_rows(module);
    treecv::bindings::bind_pegasos(module);
    treecv::bindings::bind_lsqsgd(module);
    treecv::bindings::bind_sgd(module);
    treecv::bindings::bind_unsupervised(module);
    treecv::bindings::bind_bayes(module);
}
