import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { importCopy } from '@looseleaf-tooling/vitest/import-copy'
import { afterAll, expect, test, vi } from 'vitest'
import type * as streams from './streams.ts'

// Modules bind the timers when they are loaded, so this copy has fake ones.
vi.useFakeTimers()
const { createStreams } = await importCopy<typeof streams>(new URL('streams.ts', import.meta.url))
afterAll(() => void vi.useRealTimers())

/** Makes a response whose client does not read: `end` does not lead to `close`. */
function response(): ServerResponse & { readonly said: string[] } {
  const said: string[] = []
  let isEnded = false
  return Object.assign(new EventEmitter(), {
    said,
    writableNeedDrain: false,
    writeHead: () => ({ flushHeaders: () => {} }),
    write(text: string) {
      if (isEnded) throw new Error('write after end')
      said.push(text)
    },
    end() {
      isEnded = true
    },
  }) as never
}

test('an ended stream is not written to, after a failed rendering or during one', async () => {
  let render = (): Promise<string> => Promise.resolve('one\r\ntwo')
  const streams = createStreams(() => render())
  const first = response()
  streams.add(first)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(first.said).toEqual(['data: one\ndata: two\n\n'])
  render = () => Promise.reject(new Error('away'))
  await vi.advanceTimersByTimeAsync(1_000)

  const second = response()
  let go = (_: string): void => {}
  render = () => new Promise((resolve) => (go = resolve))
  expect(streams.add(second)).toBe(true)
  await vi.advanceTimersByTimeAsync(1_000)
  streams.close()
  go('late')
  await vi.advanceTimersByTimeAsync(5_000)
  expect(second.said).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})
