import type { FastifyRequest } from 'fastify'

export interface KnownHostsOptions {
  /** Address that the site listens on. */
  readonly host: string
  /** Public address behind a proxy. */
  readonly origin: string | undefined
}

/** Host names of the site. */
export interface KnownHosts {
  /**
   * Returns true if the request's Host header is a name of the site with the port of the connection. This stops DNS rebinding:
   *
   * 1. A page of another site makes its own name resolve to this machine.
   * 2. The browser then lets that page read answers of this site, because it takes both for one site.
   * 3. The Host header still has the other site's name, so the request is refused.
   */
  isKnown(request: FastifyRequest): boolean
  /** Returns the site's origin, such as `http://localhost:3000`, under the requested name if that is known. */
  originOf(request: FastifyRequest): string
}

const ANY_ADDRESS = ['0.0.0.0', '::']

export function knownHosts({ host, origin }: KnownHostsOptions): KnownHosts {
  const listening = ANY_ADDRESS.includes(host) ? [] : [host.includes(':') ? `[${host}]` : host.toLowerCase()]
  const names = [...listening, 'localhost', '127.0.0.1', '[::1]']
  const proxied = origin === undefined ? undefined : new URL(origin).host

  function isKnown(request: FastifyRequest): boolean {
    const requested = requestedHost(request)
    if (requested === undefined || requested === proxied) return requested !== undefined
    const [, name = '', port = '80'] = /^(.*?)(?::(\d+))?$/.exec(requested) ?? []
    return names.includes(name) && Number(port) === portOf(request)
  }

  return {
    isKnown,
    originOf(request) {
      const requested = requestedHost(request)
      if (isKnown(request) && requested !== proxied) return `http://${requested}`
      return origin ?? `http://${names[0]}:${portOf(request)}`
    },
  }
}

function requestedHost({ headers }: FastifyRequest): string | undefined {
  return headers.host?.toLowerCase()
}

/** Returns the port of the connection. Requests by `inject` have no socket and count as port 80. */
function portOf({ socket }: FastifyRequest): number {
  return socket.localPort ?? 80
}
