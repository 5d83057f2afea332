import { expect, test } from 'vitest'
import { createLatencies } from './latencies.ts'
import { latencyPlot } from './latency-plot.ts'
import { livePart, type LiveView } from './live-page.ts'

const NOW = Date.UTC(2030, 0, 1)

function viewOf(addedMsAgo: number): LiveView {
  const latencies = createLatencies(() => NOW)
  latencies.callEnded({ name: 'get', index: undefined, startedAt: 0, durationMs: 1, failure: undefined })
  const at = new Date(NOW - addedMsAgo)
  const acts = [{ name: 'add', about: 'by_name', at, durationMs: 5, failure: undefined }]
  return { offered: [], filled: [], latencies, acts, underWay: [], now: NOW }
}

test('what is not kept any more is compared with nothing', () => {
  expect(livePart(viewOf(60_000)).text).toContain('Before, during and after by_name')
  expect(livePart(viewOf(600_000)).text).not.toContain('Before, during and after')
})

test('a call that took no time by its clock is on the plot', () => {
  const none = { second: NOW / 1000 - 1, calls: 1, p50Ms: 0, p99Ms: 0, maxMs: 0 }
  const { text } = latencyPlot([none], [], NOW)
  expect(text).toContain('1 µs')
  expect(text).not.toMatch(/NaN|Infinity/)
})
