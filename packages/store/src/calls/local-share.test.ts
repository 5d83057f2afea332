import { expect, test } from 'vitest'
import { createLocalShare, type LocalShare } from './local-share.ts'

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
