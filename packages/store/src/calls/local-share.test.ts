import { expect, test } from 'vitest'
import { createLocalShare, isMostlyLocal, type LocalShare } from './local-share.ts'

interface Row {
  readonly key: readonly []
  readonly entityId: Uint8Array
  readonly version: number
}

const row: Row = { key: [], entityId: new Uint8Array(16), version: 1 }
const page = (length: number): Row[] => Array.from({ length }, () => row)

function learn(share: LocalShare, pages: number, isLocal: boolean): void {
  for (let i = 0; i < pages; i++) share.learn(page(20), () => isLocal)
}

test('a share counts after a page, and not after a few rows', () => {
  const share = createLocalShare(false)
  expect([share.versionsPay, share.entitiesPay()]).toEqual([false, false])
  share.learn(page(5), () => true)
  expect(share.entitiesPay()).toBe(false)
  share.learn(page(20), () => true)
  expect([share.versionsPay, share.entitiesPay()]).toEqual([true, true])
})

test('a share counts from 12 rows on, and pays from three quarters on', () => {
  const share = createLocalShare(false)
  share.learn(page(11), () => true)
  expect(share.versionsPay).toBe(false)
  share.learn(page(1), () => true)
  expect(share.versionsPay).toBe(true)
  expect([isMostlyLocal(0.75), isMostlyLocal(0.749)]).toEqual([true, false])
})

test('a share looks at 16 rows of each page until it has seen 64, then at two, and at the lengths of eight', () => {
  const share = createLocalShare(false)
  const looksAt = (rows: number): number => {
    let looks = 0
    share.learn(page(rows), (one) => one === row && ++looks > 0)
    return looks
  }
  expect([20, 5, 20, 20, 20, 20, 1].map(looksAt)).toEqual([16, 5, 16, 16, 16, 2, 1])
  let lengths = 0
  for (const rows of [20, 3]) share.learnLengths(page(rows), (one) => one === row && ++lengths > 0)
  expect(lengths).toBe(8 + 3)
})

test('a row changes a share that has seen many rows by one in 64', () => {
  const share = createLocalShare(true)
  learn(share, 50, false)
  learn(share, 36, true)
  expect(share.versionsPay).toBe(false)
  learn(share, 1, true)
  expect(share.versionsPay).toBe(true)
})

test('a share of a half does not pay, in any order of rows', () => {
  const share = createLocalShare(false)
  let isLocal = false
  for (let i = 0; i < 200; i++) {
    share.learn(page(20), () => (isLocal = !isLocal))
    expect(share.entitiesPay()).toBe(false)
  }
})

test('a share follows rows that become local, and rows that do no longer', () => {
  const share = createLocalShare(true)
  expect(share.entitiesPay()).toBe(true)
  learn(share, 20, false)
  expect(share.entitiesPay()).toBe(false)
  learn(share, 60, true)
  expect(share.entitiesPay()).toBe(true)
})

test('entities do not pay for 200 scans after many long bodies, and versions do', () => {
  const share = createLocalShare(true)
  for (let i = 0; i < 5; i++) share.learnLengths(page(20), () => true)
  const tries = Array.from({ length: 202 }, () => share.entitiesPay())
  expect(tries.flatMap((pays, i) => (pays ? [i] : []))).toEqual([0, 201])
  expect(share.versionsPay).toBe(true)
  for (let i = 0; i < 20; i++) share.learnLengths(page(20), () => false)
  expect([share.entitiesPay(), share.entitiesPay()]).toEqual([true, true])
})
