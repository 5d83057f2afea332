import { createSlots, MAX_SNAPSHOTS } from '@looseleaf/core/internal'
import type { HeldConnection, OpenSnapshot } from '@looseleaf/driver-kysely/internal'
import type Database from 'better-sqlite3'
import { CompiledQuery } from 'kysely'
import { createConnections, type Connection, type ConnectionOptions } from './connection.ts'

export interface FileSnapshots {
  readonly open: OpenSnapshot
  /** Closes the connections that are not in use now, and the others when their snapshots end. */
  close(): void
}

/** Opens another connection to the file. Rejects if the file is not the one that the shard has open. */
export type OpenReader = () => Promise<ConnectionOptions>

interface Reader {
  readonly database: Database.Database
  readonly connection: Connection
}

const BEGIN = CompiledQuery.raw('BEGIN')
/** The first read of a transaction takes the snapshot. */
const FIRST_READ = CompiledQuery.raw('SELECT COUNT(*) FROM sqlite_schema')
const END = CompiledQuery.raw('COMMIT')

/** Makes the snapshots of one file. Each has a connection of its own, which is kept for the next one. With WAL, no writer waits for it. */
export function createFileSnapshots(openReader: OpenReader): FileSnapshots {
  let idle: Reader[] = []
  let isClosed = false
  const slots = createSlots(MAX_SNAPSHOTS)

  async function take(): Promise<Reader> {
    const reader = idle.pop()
    if (reader !== undefined) return reader
    const options = await openReader()
    return { database: options.database, connection: createConnections(options).acquire() }
  }

  async function end({ database, connection }: Reader): Promise<void> {
    // After some errors SQLite has ended the transaction by itself.
    if (database.inTransaction) await connection.executeQuery(END)
  }

  async function giveBack(reader: Reader): Promise<void> {
    try {
      await end(reader)
      if (isClosed) reader.database.close()
      else idle.push(reader)
    } catch {
      reader.database.close()
    } finally {
      slots.leave()
    }
  }

  return {
    async open() {
      await slots.enter()
      let reader: Reader | undefined
      try {
        reader = await take()
        await reader.connection.executeQuery(BEGIN)
        await reader.connection.executeQuery(FIRST_READ)
      } catch (error) {
        if (reader === undefined) slots.leave()
        else await giveBack(reader)
        throw error
      }
      const { connection } = reader
      const snapshot: HeldConnection = {
        executeQuery: (query) => connection.executeQuery(query),
        streamQuery: connection.streamQuery,
        release: () => giveBack(reader),
      }
      return snapshot
    },
    close() {
      isClosed = true
      for (const { database } of idle) database.close()
      idle = []
    },
  }
}
