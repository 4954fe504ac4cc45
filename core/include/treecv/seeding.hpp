// k-means++ (Arthur and Vassilvitskii 2007): rows to start from, far from each other.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "treecv/order.hpp"

namespace treecv {

namespace detail {

// A row, the likelier the farther it is from all chosen; where none is at a distance, the first left.
inline std::int64_t drawn(const std::vector<double>& away, const std::vector<std::uint8_t>& chosen,
                          double draw) {
    double total = 0, sum = 0;
    for (const double distance : away) total += distance;
    std::int64_t left = -1, apart = -1;
    for (std::size_t i = 0; i < away.size(); ++i) {
        sum += away[i];
        if (chosen[i]) continue;
        if (sum > draw * total) return static_cast<std::int64_t>(i);
        if (left < 0) left = static_cast<std::int64_t>(i);
        if (away[i] > 0) apart = static_cast<std::int64_t>(i);
    }
    return apart >= 0 ? apart : left;
}

}  // namespace detail

// k of n rows, one after another; `squared(i, j)` is the squared distance of two of them.
template <class Squared>
std::vector<std::int64_t> seeds(std::int64_t n, std::int64_t k, const Stream& stream, Squared squared) {
    std::vector<double> away(static_cast<std::size_t>(n), std::numeric_limits<double>::infinity());
    std::vector<std::uint8_t> chosen(static_cast<std::size_t>(n));
    std::vector<std::int64_t> found;
    for (std::int64_t c = 0; c < k; ++c) {
        const double draw = static_cast<double>(stream(static_cast<std::uint64_t>(c)) >> 11) * 0x1p-53;
        const std::int64_t i = c == 0 ? static_cast<std::int64_t>(draw * static_cast<double>(n))
                                      : detail::drawn(away, chosen, draw);
        found.push_back(i);
        chosen[static_cast<std::size_t>(i)] = 1;
        for (std::int64_t j = 0; j < n; ++j) {
            double& least = away[static_cast<std::size_t>(j)];
            const double own = squared(i, j);
            least = chosen[static_cast<std::size_t>(j)] ? 0 : own < least ? own : least;
        }
    }
    return found;
}

}  // namespace treecv
