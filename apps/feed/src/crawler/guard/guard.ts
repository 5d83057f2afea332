import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { isPublicAddress } from './public-address.ts'

/** Time for opening a connection, its TLS handshake included. */
const CONNECT_TIMEOUT_MS = 10_000

export interface GuardOptions {
  /** Pairs of host and port, such as `127.0.0.1:8080`, that may be fetched although they are not public. Default: none. */
  readonly allow?: readonly string[]
  /** Resolves names. Default: the system's resolver. */
  readonly lookup?: LookupFunction
}

/** Decides which addresses the site may fetch, so that nobody can make it read its own network. */
export interface Guard {
  /**
   * Returns a sentence that says why an address may not be fetched; undefined if it may. A host name is not resolved here, because its
   * addresses may have changed when the connection is opened: `connect` checks them.
   */
  refusalOf(url: URL): string | undefined
  /** The pairs of `allow`. Changes count from the next connection on. */
  readonly allowed: Set<string>
  /** Opens connections for undici. Refuses with `ForbiddenAddress` if the host has an address that is not public. */
  readonly connect: buildConnector.connector
}

/** Thrown for an address that may not be fetched. The message is a sentence for people. */
export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress'
}

export function createGuard({
  allow = [],
  lookup = systemLookup as LookupFunction,
}: GuardOptions = {}): Guard {
  const allowed = new Set(allow.map((pair) => pair.toLowerCase()))
  const connectAnywhere = buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup })
  const connectPublic = buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: publicLookup(lookup) })

  function refusalOf(url: URL): string | undefined {
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      return 'Only addresses that begin with http:// or https:// can be fetched.'
    const port = url.port || (url.protocol === 'https:' ? '443' : '80')
    if (allowed.has(`${url.hostname}:${port}`)) return undefined
    if (port !== '80' && port !== '443') return `Port ${port} cannot be fetched, only ports 80 and 443.`
    // `URL` writes 2130706433, 0177.0.0.1 and 0x7f.1 as 127.0.0.1 already.
    const host = url.hostname.replace(/^\[|\]$/g, '')
    return isIP(host) !== 0 && !isPublicAddress(host) ? NOT_PUBLIC : undefined
  }

  return {
    refusalOf,
    allowed,
    connect(options, callback) {
      const url = new URL(`${options.protocol}//${options.host ?? options.hostname}`)
      // An address in place of a name is never looked up, so it has to be checked here too.
      const refusal = refusalOf(url)
      if (refusal !== undefined) return callback(new ForbiddenAddress(refusal), null)
      const port = url.port || (url.protocol === 'https:' ? '443' : '80')
      const open = allowed.has(`${url.hostname}:${port}`) ? connectAnywhere : connectPublic
      open(options, callback)
    },
  }
}

const NOT_PUBLIC = 'The address is not on the public internet.'

/** Resolves a name, and fails if any of its addresses is not public. The connection uses the addresses that were checked. */
function publicLookup(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, '')
      const addresses = Array.isArray(found) ? found : []
      const [first] = addresses
      if (first === undefined || addresses.some(({ address }) => !isPublicAddress(address)))
        return callback(new ForbiddenAddress(NOT_PUBLIC), '')
      if (options.all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}
