# SPDX-License-Identifier: Apache-2.0
#
# `make release` fills this in and writes it to dist/release/hinged.rb, for a tap.
class Hinged < Formula
  desc "Marks the mail that matters to its owner"
  homepage "https://github.com/hinged/hinged"
  url "https://github.com/hinged/hinged/releases/download/v@VERSION@/hinged-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "go" => :build

  def install
    # The archive has all modules, so nothing is downloaded.
    ENV["GOFLAGS"] = "-mod=vendor"
    system "make", "install", "PREFIX=#{prefix}"
  end

  service do
    run [opt_bin/"hinged", "run"]
    keep_alive crashed: true
  end

  test do
    assert_match "hinged #{version}", shell_output("#{bin}/hinged version")
  end
end
