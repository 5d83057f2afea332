import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { readAhead } from './read-ahead.ts'

async function* pagesUntil(count: number, log: string[]): AsyncGenerator<number, void, undefined> {
  try {
    for (let page = 0; page < count; page++) {
      log.push(`read ${page}`)
      await turn()
      yield page
    }
    if (count === 2) throw new Error('shard is down')
  } finally {
    log.push('ended')
  }
}

test('the next page is read while the consumer works, and no later one', async () => {
  const log: string[] = []
  for await (const page of readAhead(pagesUntil(3, log))) {
    for (let turns = 0; turns < 4; turns++) await turn()
    log.push(`worked ${page}`)
  }
  expect(log).toEqual(['read 0', 'read 1', 'worked 0', 'read 2', 'worked 1', 'ended', 'worked 2'])
})

test('a failed read is thrown after the page before it', async () => {
  const worked: number[] = []
  const all = (async () => {
    for await (const page of readAhead(pagesUntil(2, []))) {
      for (let turns = 0; turns < 4; turns++) await turn()
      worked.push(page)
    }
  })()
  await expect(all).rejects.toThrow('shard is down')
  expect(worked).toEqual([0, 1])
})

test('no read is in flight after the consumer has stopped', async () => {
  const log: string[] = []
  for await (const page of readAhead(pagesUntil(9, log))) if (page === 1) break
  expect(log).toEqual(['read 0', 'read 1', 'read 2', 'ended'])
})

test('a read that fails after the consumer has stopped is not thrown', async () => {
  const worked: number[] = []
  for await (const page of readAhead(pagesUntil(2, []))) {
    worked.push(page)
    if (page === 1) break
  }
  expect(worked).toEqual([0, 1])
})

test('the pages have ended when the consumer goes on', async () => {
  const log: string[] = []
  async function* pages(): AsyncGenerator<number, void, undefined> {
    try {
      yield 0
      yield 1
      yield 2
    } finally {
      await turn()
      log.push('ended')
    }
  }
  for await (const page of readAhead(pages())) if (page === 0) break
  expect(log).toEqual(['ended'])
})
