import type { FastifyRequest } from 'fastify'

export interface KnownHostsOptions {
  /** The address that the site listens on. */
  readonly host: string
  /** The address that a proxy gives it. */
  readonly origin: string | undefined
}

/** The names that the site goes by. */
export interface KnownHosts {
  /**
   * Whether a request has asked for the site by one of its names, with the port that it came in by. The pages of another
   * site can make their own name lead to this machine (DNS rebinding), and a browser would take the two for one site;
   * but it says the name that it asked for.
   */
  isKnown(request: FastifyRequest): boolean
  /** Where the site is, such as `http://localhost:3000`: by the name that was asked for, if it is one of the site's. */
  originOf(request: FastifyRequest): string
}

const ANY_ADDRESS = ['0.0.0.0', '::']

export function knownHosts({ host, origin }: KnownHostsOptions): KnownHosts {
  const own = ANY_ADDRESS.includes(host) ? [] : [host.includes(':') ? `[${host}]` : host.toLowerCase()]
  const names = [...own, 'localhost', '127.0.0.1', '[::1]']
  const proxied = origin === undefined ? undefined : new URL(origin).host

  function isKnown(request: FastifyRequest): boolean {
    const asked = askedFor(request)
    if (asked === undefined || asked === proxied) return asked !== undefined
    const [, name = '', port = '80'] = /^(.*?)(?::(\d+))?$/.exec(asked) ?? []
    return names.includes(name) && Number(port) === portOf(request)
  }

  return {
    isKnown,
    originOf(request) {
      const asked = askedFor(request)
      if (isKnown(request) && asked !== proxied) return `http://${asked}`
      return origin ?? `http://${names[0]}:${portOf(request)}`
    },
  }
}

function askedFor({ headers }: FastifyRequest): string | undefined {
  return headers.host?.toLowerCase()
}

/** What comes over no socket, as by `inject`, comes to the port of an address that names none. */
function portOf({ socket }: FastifyRequest): number {
  return socket.localPort ?? 80
}
