import { parseId } from '@looseleaf/core'
import { idKey } from '@looseleaf/core/internal'
import { defineIndex } from '@looseleaf/index-engine'
import { deriveClaims, shardOfRow, tableSpec } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { openStore } from '../../test/stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { eachEntity } from '../look/read-entities.ts'
import { deriveEntity, expectedIn } from '../look/derive-entity.ts'
import type { MissingRow } from '../look/inspect.ts'
import { indexTarget, tableOn } from '../pass/index-target.ts'
import { createPass } from '../pass/pass.ts'
import { addRows } from './add-rows.ts'

const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })

test('waiting for a claim that another attempt wants does not count as a slow shard', async () => {
  const time = leapingTime()
  const store = await openStore({ indexes: [byMail], shards: 1, time })
  const { context } = store
  const entry = context.catalog.current().indexes.find(({ unique }) => unique)!
  const target = indexTarget(context, entry)
  const claims = context.driver.shards[0]!.claims(tableSpec(entry))
  const pass = createPass(context)

  async function missingClaim(mail: string, isWanted: boolean): Promise<MissingRow> {
    const { id } = await store.put({ mail })
    const [key] = deriveClaims(byMail, { mail })
    expect(shardOfRow(entry, context.catalog.current().placement, key!, parseId(id))).toBe(0)
    const [claim] = await tableOn(target, 0).scan({ prefix: key!, order: 'asc', limit: 1 })
    // The claim is free, or an attempt has it that has not committed.
    await tableOn(target, 0).remove([{ ...claim!, before: Number.MAX_SAFE_INTEGER }])
    if (isWanted) await claims.take([{ ...claim!, entityId: Buffer.from(mail.padEnd(16)) }])
    const found: MissingRow[] = []
    await eachEntity(pass, [parseId(id)], async (row) => {
      const entity = await deriveEntity(pass, [target], row.id, row)
      found.push(...expectedIn(entity, target).map((expected) => ({ entity, target, row: expected })))
    })
    expect(found.map(({ entity }) => idKey(entity.id))).toEqual([idKey(parseId(id))])
    return found[0]!
  }

  for (let i = 0; i < 10; i++) await addRows(pass, [await missingClaim(`calm ${i}`, false)])
  expect(time.slept).toBe(0)
  for (let i = 0; i < 10; i++) await addRows(pass, [await missingClaim(`wanted ${i}`, true)])
  // Each claim was taken after a wait for the attempt; the shard itself answered at once.
  expect(time.slept).toBeGreaterThanOrEqual(10 * 250)
  expect(pass.throttle.recentWaits()).toEqual({ throttledBy: undefined, waited: 0 })
  expect(pass.tally.added).toBe(20)
})
