import { expect, test } from 'vitest'
import { runLiveIndex } from './run-live-index.ts'

test('indexes added under load by killed processes end up with exactly the expected rows', async () => {
  const settings = { posts: 500, rate: 50, seconds: 1, twins: 3, leaseMs: 1_000 }
  const { looseleaf, alterTable } = await runLiveIndex(settings, () => undefined)
  expect(looseleaf.errors).toEqual({})
  expect(looseleaf.kills).not.toContain('it had ended')
  expect(looseleaf.violations).toBe(3)
  expect(new Set(Object.values(looseleaf.states))).toEqual(new Set(['ready']))
  expect(Object.keys(looseleaf.compared)).toHaveLength(4)
  for (const { rows, missing, extra } of Object.values(looseleaf.compared)) {
    expect(rows).toBeGreaterThanOrEqual(settings.posts)
    expect({ missing, extra }).toEqual({ missing: 0, extra: 0 })
  }
  expect(looseleaf.during.calls).toBeGreaterThan(0)
  expect(alterTable.errors).toEqual({})
  expect(alterTable.altered.map(({ change, refused }) => [change, refused.length > 0])).toEqual([
    ['ADD COLUMN title_key', false],
    ['ADD INDEX by_title', false],
    ['ADD COLUMN handle', false],
    ['ADD UNIQUE by_handle', true],
  ])
}, 120_000)
