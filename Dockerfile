# SPDX-License-Identifier: Apache-2.0
#
# hinged in an image that holds the program, certificates and nothing else.
#
#   docker build -t hinged .
#   docker run -v hinged-state:/var/lib/hinged -v ./hinged.toml:/etc/hinged/hinged.toml:ro hinged
#
# SIGHUP (docker kill --signal HUP) has it read its configuration again; STOPSIGNAL drains.
# The tests in internal/project build this file with buildah and run the image.

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=0.1.0 COMMIT=
RUN CGO_ENABLED=0 go build -trimpath -gcflags=all=-dwarf=false -buildvcs=false -tags prod -ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT" -o /image/usr/local/bin/hinged ./cmd/hinged \
 && install -D -m 0644 /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ca-certificates.crt \
 && install -D -m 0644 -t /image/usr/share/doc/hinged LICENSE NOTICE \
 && install -d -m 0700 -o 65532 -g 65532 /image/var/lib/hinged

FROM scratch
ARG VERSION=0.1.0 COMMIT=
LABEL org.opencontainers.image.title=hinged \
      org.opencontainers.image.description="marks the mail that matters to its owner" \
      org.opencontainers.image.source=https://github.com/hinged/hinged \
      org.opencontainers.image.licenses=Apache-2.0 \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$COMMIT
COPY --from=build /image/ /
# A number, so that an orchestrator can see that it is not root.
USER 65532:65532
# The path of state and control socket where the configuration names none.
ENV STATE_DIRECTORY=/var/lib/hinged
VOLUME /var/lib/hinged
# A second signal would stop it at once; the first one drains.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/hinged"]
CMD ["run", "--config", "/etc/hinged/hinged.toml"]
