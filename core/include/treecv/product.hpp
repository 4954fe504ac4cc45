// The logarithm of a product takes one logarithm for many numbers; mantissas are multiplied and exponents
// added, so that neither runs out of range.
#pragma once

#include <cstring>

#include "treecv/elementary.hpp"

namespace treecv {

// A product of positive normal numbers.
class Product {
  public:
    [[gnu::always_inline]] void times(const Block<double>& factors) {
        unrolled<Block<double>::registers>([&](auto i) {
            const Bits bits = std::bit_cast<Bits>(factors.part[i]);
            exponents_[i] += bits >> 52;
            mantissas_.part[i] *= std::bit_cast<Register>((bits & fraction) | one);
        });
        if (++taken_ == most) normalise();
    }

    // It is `mantissa` from 1 to 256, times 2 to the `exponent`.
    [[gnu::always_inline]] void read(double& mantissa, double& exponent) {
        normalise();
        alignas(block_bytes) double m[lanes<double>];
        alignas(block_bytes) std::uint64_t e[lanes<double>];
        mantissas_.store(m);
        std::memcpy(e, exponents_, sizeof e);
        mantissa = ((m[0] * m[4]) * (m[2] * m[6])) * ((m[1] * m[5]) * (m[3] * m[7]));
        const std::uint64_t sum = ((e[0] + e[4]) + (e[2] + e[6])) + ((e[1] + e[5]) + (e[3] + e[7]));
        exponent = static_cast<double>(static_cast<std::int64_t>(sum) - bias_);
    }

  private:
    using Register = Block<double>::Register;
    using Bits = detail::Words<Register>::Type;
    static constexpr std::uint64_t one = std::uint64_t{1023} << 52, fraction = (std::uint64_t{1} << 52) - 1;
    static constexpr std::int64_t most = 512;  // that many mantissas below 2 stay in range

    [[gnu::always_inline]] void normalise() {
        unrolled<Block<double>::registers>([&](auto i) {
            const Bits bits = std::bit_cast<Bits>(mantissas_.part[i]);
            exponents_[i] += bits >> 52;
            mantissas_.part[i] = std::bit_cast<Register>((bits & fraction) | one);
        });
        bias_ += (taken_ + 1) * 1023 * lanes<double>;
        taken_ = 0;
    }

    Block<double> mantissas_ = Block<double>::all(1);
    Bits exponents_[Block<double>::registers] = {};
    std::int64_t taken_ = 0, bias_ = 0;
};

}  // namespace treecv
