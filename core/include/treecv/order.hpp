// Orders of learning, and randomness keyed by place.
//
// A stream is named by (seed, repetition, first, last, side): where in the tree an update happens,
// never when. So any engine, with any number of workers, draws the same numbers. The generator is
// SplitMix64 (Steele, Lea and Flood 2014), whose n-th number is a function of key and n.
// `treecv/order.py` is its mirror in Python.
#pragma once

#include <cstdint>
#include <span>

namespace treecv {

enum class Order { fixed, randomized, blocks };

class Stream {
  public:
    // The seed is mixed, so that seed 1, repetition 0 is another place than seed 0, repetition 1.
    explicit Stream(std::uint64_t seed) : key_(mix(seed)) {}

    // The stream of a more closely described place.
    Stream at(std::uint64_t place) const {
        Stream stream(*this);
        stream.key_ = mix((key_ ^ place) + golden);
        return stream;
    }

    std::uint64_t operator()(std::uint64_t n) const { return mix(key_ + (n + 1) * golden); }

    // The n-th number, scaled to 0 .. bound - 1.
    std::uint32_t below(std::uint64_t n, std::uint32_t bound) const {
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::uint32_t>((static_cast<Wide>((*this)(n)) * bound) >> 64);
    }

  private:
    static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;

    static std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }

    std::uint64_t key_;
};

// The numbers 0 .. size - 1 in random order (Fisher and Yates, inside out).
inline void permute(const Stream& stream, std::span<std::uint32_t> numbers) {
    for (std::uint32_t i = 0; i < numbers.size(); ++i) {
        const std::uint32_t j = stream.below(i, i + 1);
        numbers[i] = numbers[j];
        numbers[j] = i;
    }
}

}  // namespace treecv
