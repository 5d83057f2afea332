import type { IncomingMessage } from 'node:http'
import { Refusal } from './refusal.ts'

const ONE_MACHINE = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/

/**
 * Throws `Refusal` for what comes from a page of another site. Without `hosts` an act is asked for on this machine alone: a page
 * of another site can make its own name lead here (DNS rebinding), and a browser would take the two for one site, but it
 * says the name.
 */
export function refuseForeign({ headers }: IncomingMessage, hosts: readonly string[] | undefined): void {
  // A proxy that names this machine to it brings requests of others.
  const isForwarded = ['forwarded', 'via', 'x-forwarded-for', 'x-real-ip'].some((name) => name in headers)
  if (hosts === undefined && isForwarded)
    throw new Refusal(
      403,
      'No act is done for a request that a proxy brings, unless the names of hosts are given.',
    )
  const asked = headers.host?.toLowerCase() ?? ''
  const isKnown =
    hosts === undefined ? ONE_MACHINE.test(asked) : hosts.some((host) => host.toLowerCase() === asked)
  if (!isKnown) {
    const names = hosts?.join(', ') ?? 'localhost, 127.0.0.1, [::1]'
    throw new Refusal(
      403,
      `An act has to be asked for by one of the names ${names}; got ${asked.slice(0, 200) || 'none'}.`,
    )
  }
  const site = headers['sec-fetch-site']
  const isForeign = site !== undefined && site !== 'same-origin' && site !== 'none'
  const { origin } = headers
  if (isForeign || (origin !== undefined && URL.parse(origin)?.host !== asked))
    throw new Refusal(403, 'This form comes from another site.')
}
