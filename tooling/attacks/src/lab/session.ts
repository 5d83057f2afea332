import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'

export type Row = Record<string, unknown>

/** A connection to a server that may go away. It opens on demand, and again after it was lost. */
export interface Session {
  ask(statement: string): Promise<Row[]>
  close(): void
}

/**
 * Creates a session. `url` is called each time, because a server may come back elsewhere, or be replaced
 * while it continues as a lagging replica. `first` is sent on every new connection.
 */
export function createSession(url: () => string, first?: string): Session {
  let current: Promise<Connection> | undefined
  let currentUrl = ''

  function connection(): Promise<Connection> {
    const uri = url()
    if (current !== undefined) {
      if (uri === currentUrl) return current
      forget(current)
    }
    const opening = open(uri)
    current = opening
    currentUrl = uri
    opening.then(
      (opened) => opened.on('error', () => forget(opening)),
      () => forget(opening),
    )
    return opening
  }

  async function open(uri: string): Promise<Connection> {
    const opened = await createConnection({ uri, connectTimeout: 10_000, supportBigNumbers: true })
    if (first !== undefined) await opened.query(first)
    return opened
  }

  function forget(lost: Promise<Connection>): void {
    if (current === lost) current = undefined
    lost.then(
      (opened) => opened.destroy(),
      () => undefined,
    )
  }

  return {
    async ask(statement) {
      const mine = connection()
      try {
        const [rows] = await (await mine).query<RowDataPacket[]>(statement)
        return Array.isArray(rows) ? rows : []
      } catch (error) {
        if (!isAnswer(error)) forget(mine)
        throw error
      }
    },
    close() {
      if (current !== undefined) forget(current)
    },
  }
}

/**
 * Tells whether the error is an answer of the server, such as "no such thread", after which the connection is
 * still usable.
 */
export function isAnswer(error: unknown): boolean {
  const { sqlState, fatal } = error as { sqlState?: string; fatal?: boolean }
  return sqlState !== undefined && fatal !== true
}
