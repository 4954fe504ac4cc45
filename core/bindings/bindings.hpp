#pragma once

#include <nanobind/nanobind.h>

namespace treecv::bindings {

void bind_levels(nanobind::module_& module);
void bind_rows(nanobind::module_& module);
void bind_sgd(nanobind::module_& module);
void bind_pegasos(nanobind::module_& module);
void bind_lsqsgd(nanobind::module_& module);
void bind_unsupervised(nanobind::module_& module);
void bind_bayes(nanobind::module_& module);

}  // namespace treecv::bindings
