import { findServer, howToInstall } from '@looseleaf-tooling/mariadb'
import type { ServerKind } from '../sides/side.ts'
import { createCleanup } from './cleanup.ts'
import { openMariadb } from './mariadb.ts'
import { findPostgres, howToInstallPostgres, openPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'
import type { Server } from './server.ts'

/** The servers of a run. Each one starts at its first use and stays for later parts. */
export interface Servers {
  of(kind: ServerKind, shards: number): Promise<Server>
  /** Returns advice to install a server that this machine lacks; undefined if it can be used. */
  missing(kind: ServerKind): string | undefined
  /** Returns versions and settings of the servers that were used. */
  facts(): Readonly<Record<string, unknown>>[]
  close(): Promise<void>
}

export function createServers(mysql: readonly string[]): Servers {
  const cleanup = createCleanup()
  const open = new Map<string, Promise<Server>>()
  const opened: Server[] = []
  const start = (kind: ServerKind, shards: number): Promise<Server> => {
    if (kind === 'sqlite') return openSqlite(shards)
    if (kind === 'postgres') return openPostgres()
    if (mysql.length > 0 && mysql.length < shards)
      throw new Error(`${mysql.length} servers were given, ${shards} are needed.`)
    return openMariadb({ urls: mysql.slice(0, shards), shards })
  }
  return {
    of(kind, shards) {
      const key = kind === 'postgres' ? kind : `${kind} ${shards}`
      let server = open.get(key)
      if (server === undefined) {
        server = start(kind, shards).then((started) => {
          opened.push(started)
          cleanup.add(() => started.close())
          return started
        })
        open.set(key, server)
      }
      return server
    },
    missing(kind) {
      if (kind === 'mariadb' && mysql.length === 0 && findServer() === undefined) return howToInstall
      return kind === 'postgres' && findPostgres() === undefined ? howToInstallPostgres : undefined
    },
    facts: () => opened.map(({ kind, title, facts }) => ({ kind, title, ...facts })),
    close: () => cleanup.run(),
  }
}
