import { someOf } from '@looseleaf-tooling/vitest/long'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { describe, expect, test } from 'vitest'
import { keyFlaws } from './flawed-keys.ts'
import { runFight } from './run-fight.ts'

const LIMIT_MS = 120_000
const FIGHT = { processes: 3, entities: 24, keys: 4, seconds: 4 }

describe('processes that fight over the keys of a unique index', () => {
  test('no key is held twice, and every answer is right', { timeout: LIMIT_MS }, async () => {
    const { urls } = await freshShards(2)
    const { wrongs, counts, kills, stops, looks } = await runFight({ ...FIGHT, urls, seed: 1 })
    expect(wrongs).toEqual([])
    // A fight without any work would pass too.
    expect(Math.min(counts.acknowledged, counts.refused, looks)).toBeGreaterThan(20)
    expect(Math.min(counts.changes, kills, stops)).toBeGreaterThan(0)
  })

  test.each(someOf(keyFlaws, 1))(
    'the checker notices a missing guard: %s',
    { timeout: LIMIT_MS },
    async (flaw) => {
      let told = ''
      // The first seed usually shows it. Seeds in which no two processes are in the gap at the same time show
      // nothing.
      for (let seed = 2; seed < 6 && !told.includes('both had'); seed++) {
        const { urls } = await freshShards(2)
        told = (await runFight({ ...FIGHT, urls, seed, flaw })).wrongs.join('\n')
      }
      expect(told).toMatch(/both had/)
    },
  )
})
