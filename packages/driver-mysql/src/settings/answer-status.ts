import type { Duplex } from 'node:stream'

/** Flags of the server's status, as every answer that is no error carries it. */
const AUTOCOMMIT = 0x0002
const IN_TRANSACTION = 0x0001

/** The packet that ends rows: three bytes of length, a number, a byte that says so, two of warnings and two of status. */
const END_BYTES = 9

/**
 * Watches what a server sends for the status in the packet that ends rows, which mysql2 keeps to itself. The answer gives
 * the status at the end of what has come so far, and undefined where that is no such packet.
 */
export function watchStatus(stream: Duplex): () => number | undefined {
  let end: Buffer = Buffer.alloc(0)
  // Before the library hears of the same bytes.
  stream.prependListener('data', (bytes: Buffer) => {
    end = bytes.length >= END_BYTES ? bytes : Buffer.concat([end.subarray(-END_BYTES), bytes])
  })
  return () => {
    const last = end.subarray(-END_BYTES)
    const isEnd = last.length === END_BYTES && last.readUIntLE(0, 3) === 5 && last[4] === 0xfe
    return isEnd ? last.readUInt16LE(7) : undefined
  }
}

/**
 * What a status says against the session being the one that its connection has set up; undefined when nothing does.
 * Where autocommit is off, a write that was answered is not committed, and a read may show what was long ago.
 */
export function foundAgainst(status: number | undefined, inTransaction: boolean): string | undefined {
  if (status === undefined) return 'an answer does not say whether a transaction is open'
  if ((status & AUTOCOMMIT) === 0) return 'autocommit is off'
  if (((status & IN_TRANSACTION) !== 0) === inTransaction) return undefined
  return inTransaction
    ? 'the transaction that was begun is not open'
    : 'a transaction is open that was not begun here'
}
