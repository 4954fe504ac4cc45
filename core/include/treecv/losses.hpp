// All losses. One that is added here, in its own header, is known to every learner of the family.
//
// y and p are vectors of doubles, a place for each state in lockstep; p is the prediction <w, x> + intercept.
// A loss has its derivative by p, `gradient`; `other`, which is y for a row that is not of the class (1 is y
// of one that is); and its `value`, if passive-aggressive steps are to be offered for it.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "treecv/losses/epsilon_insensitive.hpp"
#include "treecv/losses/hinge.hpp"
#include "treecv/losses/huber.hpp"
#include "treecv/losses/log_loss.hpp"
#include "treecv/losses/modified_huber.hpp"
#include "treecv/losses/squared_epsilon_insensitive.hpp"
#include "treecv/losses/squared_error.hpp"
#include "treecv/losses/squared_hinge.hpp"

namespace treecv {

using Loss = std::variant<Hinge, SquaredHinge, LogLoss, ModifiedHuber, SquaredError, Huber,
                          EpsilonInsensitive, SquaredEpsilonInsensitive>;

inline Loss loss_named(const std::string& name, double epsilon) {
    if (name == "hinge") return Hinge{1};
    if (name == "perceptron") return Hinge{0};
    if (name == "squared_hinge") return SquaredHinge{};
    if (name == "log_loss") return LogLoss{};
    if (name == "modified_huber") return ModifiedHuber{};
    if (name == "squared_error") return SquaredError{};
    if (name == "huber") return Huber{epsilon};
    if (name == "epsilon_insensitive") return EpsilonInsensitive{epsilon};
    if (name == "squared_epsilon_insensitive") return SquaredEpsilonInsensitive{epsilon};
    throw std::invalid_argument("there is no loss of this name");
}

// Calls f with the loss itself: like std::visit, but seen through by the compiler.
template <class F, std::size_t i = 0>
[[gnu::always_inline]] inline auto with(const Loss& loss, F f) {
    if constexpr (i + 1 < std::variant_size_v<Loss>)
        if (loss.index() != i) return with<F, i + 1>(loss, f);
    return f(*std::get_if<i>(&loss));
}

}  // namespace treecv
