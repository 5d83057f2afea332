import type { Key } from '@looseleaf/core/internal'
import { expect } from 'expect'
import type { TestFunctions } from '../test-functions.ts'
import { row, plainClaim, type Fresh } from './claims-harness.ts'
import { codeOf, newId } from './harness.ts'

export function takeContract(runner: TestFunctions, fresh: Fresh): void {
  const { test } = runner
  test('a take gives a free key to the entity', async () => {
    const { claims, all } = await fresh('integer')
    const claim = row([1n], newId(), Number.MAX_SAFE_INTEGER)
    expect((await claims.take([claim])).map(plainClaim)).toEqual([claim].map(plainClaim))
    expect(await all()).toEqual([claim].map(plainClaim))
  })

  test('a take raises the stamp of the entity’s own claim, and never lowers it', async () => {
    const { claims, all } = await fresh('integer')
    const entityId = newId()
    for (const [version, kept] of [
      [5, 5],
      [3, 5],
      [5, 5],
      [9, 9],
      [8, 9],
    ] as const) {
      const after = [row([1n], entityId, kept)].map(plainClaim)
      expect((await claims.take([row([1n], entityId, version)])).map(plainClaim)).toEqual(after)
      expect(await all()).toEqual(after)
    }
  })

  test('a take leaves the claim of another entity unchanged, and returns it', async () => {
    const { claims, elsewhere, all } = await fresh('integer')
    const claim = row([1n], newId(), 5)
    await claims.take([claim])
    for (const version of [1, 5, 9])
      for (const table of [claims, elsewhere])
        expect((await table.take([row([1n], newId(), version)])).map(plainClaim)).toEqual(
          [claim].map(plainClaim),
        )
    expect(await all()).toEqual([claim].map(plainClaim))
  })

  test('a take of several rows returns the claims in the order of the call', async () => {
    const { claims, all } = await fresh('integer')
    const [own, other] = [newId(), newId()]
    await claims.take([row([2n], own, 5), row([3n], own, 5), row([4n], other, 5), row([5n], own, 5)])
    // The row that is taken, and the claim afterwards.
    const pairs = [
      [row([4n], own, 9), row([4n], other, 5)],
      [row([2n], own, 9), row([2n], own, 9)],
      [row([1n], own, 9), row([1n], own, 9)],
      [row([3n], own, 1), row([3n], own, 5)],
      [row([0n], other, 2), row([0n], other, 2)],
      [row([5n], own, 5), row([5n], own, 5)],
    ] as const
    const after = pairs.map(([, claim]) => claim)
    const answer = await claims.take(pairs.map(([taken]) => taken))
    expect(answer.map(plainClaim)).toEqual(after.map(plainClaim))
    expect(await all()).toEqual(after.toSorted((a, b) => Number(a.key[0]) - Number(b.key[0])).map(plainClaim))
  })

  test('a take of a key for two entities gives it to the first in the call', async () => {
    const { claims, all } = await fresh('integer')
    const [low, high] = [newId(), newId()].toSorted(Buffer.compare) as [Buffer, Buffer]
    const answer = await claims.take([
      row([2n], high, 1),
      row([1n], low, 1),
      row([2n], low, 9),
      row([1n], high, 9),
      row([3n], low, 1),
    ])
    const [one, two, three] = [row([1n], low, 1), row([2n], high, 1), row([3n], low, 1)]
    expect(answer.map(plainClaim)).toEqual([two, one, two, one, three].map(plainClaim))
    expect(await all()).toEqual([one, two, three].map(plainClaim))
  })

  test('a take of a key twice for one entity keeps the greatest stamp', async () => {
    const { claims, all } = await fresh('integer')
    const entityId = newId()
    const answer = await claims.take([2, 9, 4].map((version) => row([1n], entityId, version)))
    expect(answer.map(plainClaim)).toEqual(Array(3).fill(plainClaim(row([1n], entityId, 9))))
    expect(await all()).toEqual([row([1n], entityId, 9)].map(plainClaim))
  })

  test('a repeated take changes nothing', async () => {
    const { claims, all } = await fresh('integer')
    const rows = [row([1n], newId(), 3), row([2n], newId(), 4)]
    for (const again of [rows, rows, rows.slice(0, 1), rows.toReversed()])
      expect((await claims.take(again)).map(plainClaim)).toEqual(again.map(plainClaim))
    expect(await all()).toEqual(rows.map(plainClaim))
  })

  test('a take of no rows returns no claims', async () => {
    const { claims, all } = await fresh('integer')
    expect(await claims.take([])).toEqual([])
    expect(await all()).toEqual([])
  })

  test('a take may have hundreds of rows, and one of 10,000 is rejected as a whole', async () => {
    const { claims, index } = await fresh('integer', 'string')
    const rows = Array.from({ length: 10_000 }, (_, i) => row([BigInt(i), Buffer.from('é')], newId(), i + 1))
    expect(await codeOf(claims.take(rows))).toBe('BAD_OPTION')
    expect(await index.count({ prefix: [] })).toBe(0)
    const some = rows.slice(0, 400).toReversed()
    expect((await claims.take(some)).map(plainClaim)).toEqual(some.map(plainClaim))
    expect(await index.count({ prefix: [] })).toBe(400)
  })

  test('concurrent takes of one key give it to one entity, and all return that claim', async () => {
    const { claims, elsewhere, all } = await fresh('integer')
    for (let key = 0n; key < 20n; key++) {
      const takers = Array.from({ length: 8 }, (_, i) => row([key], newId(), i + 1))
      const answers = await Promise.all(
        takers.map((taker, i) => (i % 2 === 0 ? claims : elsewhere).take([taker])),
      )
      const winner = (await all())[Number(key)]
      expect(takers.map(plainClaim)).toContainEqual(winner)
      expect(answers.map(([claim]) => plainClaim(claim))).toEqual(takers.map(() => winner))
    }
  })

  test('concurrent takes of many keys in different orders do not deadlock', async () => {
    const { claims, elsewhere, all } = await fresh('integer')
    const keys = Array.from({ length: 40 }, (_, i) => [BigInt(i)])
    const answers = await Promise.all(
      Array.from({ length: 8 }, async (_, taker) => {
        const entityId = newId()
        const own = keys.map((_, i) => keys[(i * 3 + taker * 5) % keys.length] as Key)
        const answer = await (taker % 2 === 0 ? claims : elsewhere).take(
          own.map((key) => row(key, entityId, taker + 1)),
        )
        return answer.toSorted((a, b) => Number(a?.key[0]) - Number(b?.key[0])).map(plainClaim)
      }),
    )
    const after = await all()
    expect(after).toHaveLength(keys.length)
    for (const answer of answers) expect(answer).toEqual(after)
  })
}

export function swapContract(runner: TestFunctions, fresh: Fresh): void {
  const { test } = runner
  test('a swap gives exactly this claim to another entity, with any stamp', async () => {
    const { claims, all } = await fresh('integer')
    const [a, b] = [newId(), newId()]
    const rows = [row([1n], a, 5), row([2n], a, 5), row([3n], b, 5)]
    await claims.take(rows)
    expect(await claims.swap(row([1n], a, 5), { entityId: b, version: 2 })).toBe(true)
    expect(await claims.swap(row([2n], a, 5), { entityId: b, version: 5 })).toBe(true)
    expect(await claims.swap(row([3n], b, 5), { entityId: b, version: 4 })).toBe(true)
    expect(await all()).toEqual([row([1n], b, 2), row([2n], b, 5), row([3n], b, 4)].map(plainClaim))
  })

  test('a swap changes nothing if the claim has another entity or stamp, or is gone', async () => {
    const { claims, index, all } = await fresh('integer')
    const claim = row([1n], newId(), 5)
    await claims.take([claim])
    const to = { entityId: newId(), version: 9 }
    for (const other of [
      { ...claim, entityId: newId() },
      { ...claim, entityId: to.entityId },
      { ...claim, version: 4 },
      { ...claim, version: 6 },
      { ...claim, key: [2n] },
    ])
      expect(await claims.swap(other, to)).toBe(false)
    expect(await all()).toEqual([claim].map(plainClaim))
    await index.remove([{ ...claim, before: 6 }])
    expect(await claims.swap(claim, to)).toBe(false)
    expect(await all()).toEqual([])
  })

  test('a swap to the same entity and stamp is rejected', async () => {
    const { claims, all } = await fresh('integer')
    const claim = row([1n], newId(), 5)
    await claims.take([claim])
    expect(await codeOf(claims.swap(claim, claim))).toBe('BAD_OPTION')
    expect(await all()).toEqual([claim].map(plainClaim))
  })

  test('one of several concurrent swaps of one claim wins', async () => {
    const { claims, elsewhere, all } = await fresh('integer')
    for (let key = 0n; key < 10n; key++) {
      const claim = row([key], newId(), 5)
      await claims.take([claim])
      const next = Array.from({ length: 6 }, (_, i) => row([key], newId(), i + 1))
      const won = await Promise.all(next.map((to, i) => (i % 2 === 0 ? claims : elsewhere).swap(claim, to)))
      const winners = next.filter((_, i) => won[i])
      expect(winners.map(plainClaim)).toEqual((await all()).slice(Number(key)))
    }
  })
}
