import type { Duplex } from 'node:stream'

/** Flags of the server's status, which every answer but an error carries. */
const AUTOCOMMIT = 0x0002
const IN_TRANSACTION = 0x0001

/** Size of the EOF packet after rows: length (3), sequence number (1), 0xfe (1), warnings (2), status (2). */
const END_BYTES = 9

/**
 * Watches the bytes of a server for the status in its EOF packets, which mysql2 does not expose. Returns a function that reads the
 * status of the last packet, or undefined if the bytes so far do not end with an EOF packet.
 */
export function watchStatus(stream: Duplex): () => number | undefined {
  let end: Buffer = Buffer.alloc(0)
  // Runs before the listener of mysql2, whose callbacks read the status.
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
 * Returns why a status cannot belong to the session of this connection, or undefined. With autocommit off, an acknowledged write
 * would not be committed, and a read could show an old snapshot.
 */
export function sessionMismatch(status: number | undefined, inTransaction: boolean): string | undefined {
  if (status === undefined) return 'an answer does not tell whether a transaction is open'
  if ((status & AUTOCOMMIT) === 0) return 'autocommit is off'
  if (((status & IN_TRANSACTION) !== 0) === inTransaction) return undefined
  return inTransaction
    ? 'the transaction of this connection is not open'
    : 'a transaction is open that this connection did not begin'
}
