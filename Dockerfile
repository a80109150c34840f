# Builds kaasd as one static binary and puts nothing else into the image.
FROM docker.io/library/golang:1.26 AS build
ARG TARGETOS=linux
ARG TARGETARCH=amd64
ARG VERSION=
ARG REVISION=
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath \
      -ldflags "-s -w -X main.version=$VERSION -X main.revision=$REVISION" -o /out/usr/bin/kaasd ./cmd/kaasd \
 && mkdir -p /out/etc/kaasd /out/var/lib/kaasd \
 && cp deploy/image/kaasd.yaml /out/etc/kaasd/kaasd.yaml

FROM gcr.io/distroless/static-debian12:nonroot
ARG VERSION=
ARG REVISION=
ARG SOURCE=
LABEL org.opencontainers.image.title="kaasd" \
      org.opencontainers.image.description="Kafka-compatible broker whose heart is client quotas" \
      org.opencontainers.image.source="$SOURCE" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build --chown=65532:65532 /out/ /
USER 65532:65532
ENV KAASD_CONFIG=/etc/kaasd/kaasd.yaml
WORKDIR /var/lib/kaasd
VOLUME /var/lib/kaasd
EXPOSE 9092 9404
HEALTHCHECK --interval=10s --timeout=3s --start-period=2s --retries=3 CMD ["/usr/bin/kaasd", "health"]
ENTRYPOINT ["/usr/bin/kaasd"]
CMD ["start"]
