import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DriverFactory } from '@looseleaf/core'
import { memoryShards, sqliteShards } from '@looseleaf/driver-sqlite'
import { keepOpen } from '@looseleaf/testkit'

/** Databases for histories. */
export interface Backend {
  readonly name: string
  /** Creates new, empty databases. */
  create(shards: number): Promise<Databases>
}

export interface Databases {
  /** Factory that may connect any number of times, always to the same data. */
  readonly shards: DriverFactory
  drop(): Promise<void>
}

/** SQLite in memory. The data end with the connection, so all stores of a history share one. */
export const memoryBackend: Backend = {
  name: 'SQLite in memory',
  async create(shards) {
    const driver = await memoryShards(shards).connect()
    return { shards: keepOpen(driver), drop: () => driver.close() }
  },
}

/** SQLite files in a temporary folder. */
export const fileBackend: Backend = {
  name: 'SQLite files',
  async create(shards) {
    const folder = await mkdtemp(join(tmpdir(), 'looseleaf-model-'))
    return {
      shards: sqliteShards({ folder, shards, durability: 'normal' }),
      drop: () => rm(folder, { recursive: true, force: true }),
    }
  },
}
