import type { IncomingMessage } from 'node:http'
import { Refusal } from './refusal.ts'

const LOCAL_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/

/**
 * Throws `Refusal` for a request from a page of another site. Without `hosts`, only names of this machine are accepted, against
 * DNS rebinding: another site can point its own name here, and the browser would then treat the console as part of that
 * site, but the `Host` header still has the name.
 */
export function refuseForeign({ headers }: IncomingMessage, hosts: readonly string[] | undefined): void {
  // A proxy may send a local `Host` for requests of other machines.
  const isForwarded = ['forwarded', 'via', 'x-forwarded-for', 'x-real-ip'].some((name) => name in headers)
  if (hosts === undefined && isForwarded)
    throw new Refusal(
      403,
      'Acts through a proxy are refused unless the application names its hosts in { acts: { hosts } }.',
    )
  const requested = headers.host?.toLowerCase() ?? ''
  const isKnown =
    hosts === undefined ? LOCAL_HOST.test(requested) : hosts.some((host) => host.toLowerCase() === requested)
  if (!isKnown) {
    const names = hosts?.join(', ') ?? 'localhost, 127.0.0.1, [::1]'
    throw new Refusal(
      403,
      `Acts are accepted under one of the names ${names}; got ${requested.slice(0, 200) || 'none'}.`,
    )
  }
  const site = headers['sec-fetch-site']
  const isForeign = site !== undefined && site !== 'same-origin' && site !== 'none'
  const { origin } = headers
  if (isForeign || (origin !== undefined && URL.parse(origin)?.host !== requested))
    throw new Refusal(403, 'This form comes from another site.')
}
