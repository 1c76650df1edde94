# SPDX-License-Identifier: Apache-2.0
#
# Builds hinged from the source archive of a release, which has all modules:
#
#   nix profile install 'https://github.com/hinged/hinged/releases/download/v0.1.0/hinged-0.1.0.tar.gz?dir=deploy/nix'
#
# A checkout has no modules in it; `go mod vendor` puts them there.
{
  description = "Marks the mail that matters to its owner";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      lib = nixpkgs.lib;
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      version = lib.fileContents ../../VERSION;
    in
    {
      packages = lib.genAttrs systems (system: {
        default = nixpkgs.legacyPackages.${system}.buildGo126Module {
          pname = "hinged";
          inherit version;
          src = ../..;
          vendorHash = null; # they are in vendor/
          # The Makefile says how a release is built, and what is installed where.
          buildPhase = ''
            runHook preBuild
            make build man
            runHook postBuild
          '';
          installPhase = ''
            runHook preInstall
            make install PREFIX=$out
            runHook postInstall
          '';
          doCheck = false; # the tests want mail servers
          meta = {
            description = "Marks the mail that matters to its owner";
            homepage = "https://github.com/hinged/hinged";
            license = lib.licenses.asl20;
            mainProgram = "hinged";
          };
        };
      });
    };
}
