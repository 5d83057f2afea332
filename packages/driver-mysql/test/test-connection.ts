import type { Connection } from '../src/connection/connection.ts'

/** A connection without a server, for tests of the pool. */
export interface TestConnection extends Connection {
  usable: boolean
  mayBeOutdated: boolean
  openedAt: number
  ended: boolean
}

export function testConnection(): TestConnection {
  const connection: TestConnection = {
    usable: true,
    mayBeOutdated: false,
    openedAt: performance.now(),
    ended: false,
    executeQuery: () => Promise.reject(new Error('not used')),
    streamQuery: () => {
      throw new Error('not used')
    },
    begin: () => {},
    verify: async () => {},
    startTransaction: async () => {},
    startSnapshot: async () => {},
    endSnapshot: async () => {},
    commit: async () => {},
    end: async () => void (connection.ended = true),
    destroy: () => void (connection.usable = false),
  }
  return connection
}
