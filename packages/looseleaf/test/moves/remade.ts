import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cleanIndex } from '@looseleaf/cleaner'
import type { DriverFactory } from '@looseleaf/core'
import { sqliteShards } from '@looseleaf/driver-sqlite'
import { DataStore, type DataStoreOptions } from '@looseleaf/store'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, onTestFinished } from 'vitest'
import { checkIndexes, checkQueries, contentsOf, indexes } from './stores.ts'

export type OpenOptions = Pick<DataStoreOptions, 'acceptEmptyShards' | 'shards' | 'indexes'>

/** The SQLite files of a store, whose shards can be lost. */
export interface ShardFiles {
  readonly shards: DriverFactory
  open(options?: Partial<OpenOptions>): Promise<DataStore>
  /** Replaces the files of a shard by an empty one. */
  lose(shard: number): void
}

/** Makes a folder for the shards of a test, which is deleted when the test has ended. */
export function shardFiles(count: number): ShardFiles {
  const folder = mkdtempSync(join(tmpdir(), 'looseleaf-remade-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const shards = sqliteShards({ folder, shards: count, durability: 'normal' })
  return {
    shards,
    async open(options) {
      const store = await DataStore.open({
        shards,
        indexes,
        migrate: true,
        queryTimeMs: 5_000,
        time: leapingTime(),
        onWarning: () => {},
        ...options,
      })
      onTestFinished(() => store.close())
      return store
    },
    lose(shard) {
      for (const file of readdirSync(folder))
        if (file.startsWith(`shard-${shard}`)) rmSync(join(folder, file))
      writeFileSync(join(folder, `shard-${shard}.sqlite`), '')
    },
  }
}

/** Checks that a store has these entities, by id, and is in order without further moves. */
export async function checkWhole(store: DataStore, kept: ReadonlyMap<string, string>): Promise<void> {
  expect(await contentsOf(store)).toEqual(kept)
  expect(await store.shards.moves()).toEqual([])
  expect(await store.shards.repair()).toMatchObject({ moves: [], problems: [] })
  await cleanIndex(store)
  await checkQueries(store)
  await checkIndexes(store)
}
