import { BlockList, isIP } from 'node:net'

/*
 * Ranges of the IANA registries of special addresses. A feed is never at one of these, but the site's own databases, its neighbours and
 * the metadata service of a cloud may be.
 */
const reserved4 = new BlockList()
// In one list, Node would compare IPv4 addresses with the range of mapped ones too.
const reserved6 = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  reserved4.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of [
  // All but 2000::/3, the only range of public addresses: loopback, mapped, translated, local, link-local and multicast ones.
  ['::', 3],
  ['4000::', 2],
  ['8000::', 1],
  // Within 2000::/3, ranges for protocols and documents, and those that carry an IPv4 address (Teredo, 6to4).
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  reserved6.addSubnet(network, prefix, 'ipv6')

/** Returns true for an IP address of the public internet. Text that is no IP address is not public. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !reserved4.check(address)
    case 6:
      return !reserved6.check(address, 'ipv6')
    default:
      return false
  }
}
