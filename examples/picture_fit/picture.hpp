// SPDX-License-Identifier: Apache-2.0
/// Pictures: reading, writing, comparing.
#pragma once

#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace picture_fit {

inline constexpr int channels = 3;

/// Three planes of floats, each row by row, with values from 0 to 1.
struct picture {
    int width = 0, height = 0;
    std::vector<float> values;

    picture() = default;
    picture(int w, int h) : width(w), height(h), values(channels * plane_size()) {}

    std::size_t plane_size() const { return static_cast<std::size_t>(width) * static_cast<std::size_t>(height); }
    float* plane(int channel) { return values.data() + static_cast<std::size_t>(channel) * plane_size(); }
    float const* plane(int channel) const { return values.data() + static_cast<std::size_t>(channel) * plane_size(); }
};

inline picture read_png(std::filesystem::path const& file) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_file(&image, file.c_str()))
        throw std::runtime_error("cannot read '" + file.string() + "': " + image.message);
    image.format = PNG_FORMAT_RGB;
    std::vector<std::uint8_t> bytes(PNG_IMAGE_SIZE(image));
    if (!png_image_finish_read(&image, nullptr, bytes.data(), 0, nullptr))
        throw std::runtime_error("cannot read '" + file.string() + "': " + image.message);

    picture result(static_cast<int>(image.width), static_cast<int>(image.height));
    for (int c = 0; c < channels; ++c)
        for (std::size_t i = 0; i < result.plane_size(); ++i)
            result.plane(c)[i] = static_cast<float>(bytes[i * channels + static_cast<std::size_t>(c)]) / 255.0f;
    return result;
}

inline void write_png(std::filesystem::path const& file, picture const& source) {
    std::vector<std::uint8_t> bytes(source.values.size());
    for (int c = 0; c < channels; ++c)
        for (std::size_t i = 0; i < source.plane_size(); ++i) {
            const float value = std::clamp(source.plane(c)[i], 0.0f, 1.0f);
            bytes[i * channels + static_cast<std::size_t>(c)] = static_cast<std::uint8_t>(std::lround(255 * value));
        }
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(source.width);
    image.height = static_cast<png_uint_32>(source.height);
    image.format = PNG_FORMAT_RGB;
    if (!png_image_write_to_file(&image, file.c_str(), 0, bytes.data(), 0, nullptr))
        throw std::runtime_error("cannot write '" + file.string() + "': " + image.message);
}

/// The distance between two pictures of one size, made visible: `gain` times its absolute value, on black.
inline picture difference(picture const& a, picture const& b, float gain) {
    picture result(a.width, a.height);
    for (std::size_t i = 0; i < a.values.size(); ++i) result.values[i] = gain * std::abs(a.values[i] - b.values[i]);
    return result;
}

/// Pictures of one size in rows of `columns`, with a white gap.
inline picture contact_sheet(std::vector<picture> const& pictures, int columns) {
    constexpr int gap = 8;
    const int rows = (static_cast<int>(pictures.size()) + columns - 1) / columns;
    const int width = pictures.front().width, height = pictures.front().height;
    picture sheet(columns * (width + gap) - gap, rows * (height + gap) - gap);
    std::fill(sheet.values.begin(), sheet.values.end(), 1.0f);
    for (int k = 0; k < static_cast<int>(pictures.size()); ++k)
        for (int c = 0; c < channels; ++c)
            for (int y = 0; y < height; ++y) {
                float const* from = pictures[static_cast<std::size_t>(k)].plane(c) + y * width;
                const int row = k / columns * (height + gap) + y, column = k % columns * (width + gap);
                std::copy_n(from, width, sheet.plane(c) + row * sheet.width + column);
            }
    return sheet;
}

}  // namespace picture_fit
