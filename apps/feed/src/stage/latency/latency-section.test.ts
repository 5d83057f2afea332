import { expect, test } from 'vitest'
import { createLatencies } from './latencies.ts'
import { latencyPlot } from './latency-plot.ts'
import { latencySection, type LatencyView } from './latency-section.ts'

const NOW = Date.UTC(2030, 0, 1)

function viewOf(addedMsAgo: number): LatencyView {
  const latencies = createLatencies(() => NOW)
  latencies.callEnded({ name: 'get', index: undefined, startedAt: 0, durationMs: 1, failure: undefined })
  const at = new Date(NOW - addedMsAgo)
  const acts = [{ name: 'add', about: 'by_name', at, durationMs: 5, failure: undefined }]
  return { filled: [], latencies, acts, now: NOW }
}

test('an act whose latencies were dropped has no comparison', () => {
  expect(latencySection(viewOf(60_000)).text).toContain('Before, during and after by_name')
  expect(latencySection(viewOf(600_000)).text).not.toContain('Before, during and after')
})

test.each([
  ['was there before', 300, '2.0'],
  ['began ten seconds before', 40, '12.0'],
])('the rate before an act counts idle seconds too, where the site %s', (_, ago, rate) => {
  let now = NOW - ago * 1000
  const latencies = createLatencies(() => now)
  now = NOW - 31_000
  for (let n = 0; n < 120; n++)
    latencies.callEnded({ name: 'get', index: undefined, startedAt: 0, durationMs: 1, failure: undefined })
  now = NOW
  const { text } = latencySection({ ...viewOf(30_000), latencies })
  const [, row] = /up to a minute before<\/th>(.*?)<\/tr>/.exec(text) ?? []
  expect(row).toContain(`<td>${rate}</td><td>0</td>`)
})

test('a call that took no time by its clock is on the plot', () => {
  const none = { second: NOW / 1000 - 1, calls: 1, failures: new Map(), p50Ms: 0, p99Ms: 0, maxMs: 0 }
  const { text } = latencyPlot([none], [], NOW)
  expect(text).toContain('1 µs')
  expect(text).not.toMatch(/NaN|Infinity/)
})

test('a second between two seconds without calls is a dot, and neighbouring seconds form a line', () => {
  const at = (ago: number) => {
    return { second: NOW / 1000 - ago, calls: 1, failures: new Map(), p50Ms: 1, p99Ms: 2, maxMs: 3 }
  }
  const { text } = latencyPlot([at(9), at(5), at(4), at(1)], [], NOW)
  const pathOf = (name: string): string => new RegExp(`<path class="${name}" d="([^"]*)"`).exec(text)![1]!
  for (const name of ['index', 'entities']) {
    expect(pathOf(`${name} alone`).match(/M/g)).toHaveLength(2)
    expect(pathOf(name).match(/L/g)).toHaveLength(1)
  }
  expect(pathOf('own dots').match(/M/g)).toHaveLength(4)
})

test.each([24, 59])(
  'labels of the plot do not overlap or cross lines, the newest mark has a label, and every mark has a line, from %i s ago',
  (ago) => {
    const second = { second: NOW / 1000 - 1, calls: 1, failures: new Map(), p50Ms: 1, p99Ms: 1, maxMs: 1 }
    const marks = Array.from({ length: 12 }, (_, n) => ({
      at: new Date(NOW - ago * 1000 + n * 2000),
      label: `add by_name_${n}`,
    }))
    const { text } = latencyPlot([second], marks, NOW)
    expect(text.match(/<g class="mark">/g)).toHaveLength(12)
    const marked = text.slice(text.indexOf('<g class="mark">'))
    const labels = [
      ...marked.matchAll(/<text x="([\d.]+)" y="(\d+)" text-anchor="(start|end)">([^<]+)</g),
    ].map(([, x, y, anchor, label]) => {
      // A lower bound of the width: labels that overlap with it overlap in any font.
      const length = label!.length * 6
      return { row: Number(y), label, from: anchor === 'end' ? Number(x) - length : Number(x), length }
    })
    expect(labels.length).toBeGreaterThan(2)
    expect(labels.length).toBeLessThan(12)
    expect(labels.map(({ label }) => label)).toContain('add by_name_11')
    for (const [i, one] of labels.entries())
      for (const other of labels.slice(i + 1))
        if (one.row === other.row)
          expect(one.from >= other.from + other.length || other.from >= one.from + one.length).toBe(true)
    const lines = [...marked.matchAll(/<line x1="([\d.]+)" x2="[\d.]+" y1="(\d+)"/g)]
    expect(lines).toHaveLength(12)
    for (const [, x, from] of lines)
      for (const one of labels)
        if (Number(from) < one.row - 10)
          expect(Number(x) <= one.from || Number(x) >= one.from + one.length).toBe(true)
  },
)

test('p99 is shown for a hundred calls and not for fewer', () => {
  const { latencies, ...view } = viewOf(30_000)
  const row = (): string =>
    /since it was added<\/th>(.*?)<\/tr>/.exec(latencySection({ ...view, latencies }).text)?.[1] ?? ''
  expect(row()).toMatch(/^<td>[\d.]+ ms<\/td><td>–<\/td>/)
  for (let n = 1; n < 100; n++)
    latencies.callEnded({ name: 'get', index: undefined, startedAt: 0, durationMs: 1, failure: undefined })
  expect(row()).toMatch(/^<td>[\d.]+ ms<\/td><td>[\d.]+ ms<\/td>/)
})

test('calls that failed are on the plot, and named below it', () => {
  const { latencies, ...view } = viewOf(60_000)
  const part = (): string => latencySection({ ...view, latencies }).text
  expect(part()).toContain('<path class="failed" d=""/>')
  expect(part()).not.toContain('failed in these minutes')
  for (const failure of ['SHARD_UNAVAILABLE', 'SHARD_UNAVAILABLE', 'DEADLINE', 'NOT_FOUND'] as const)
    latencies.callEnded({ name: 'get', index: undefined, startedAt: 0, durationMs: 1, failure })
  expect(part()).toMatch(/<path class="failed" d="M[\d.]+ [^"]+"/)
  expect(part()).toContain(
    '3 calls of 5 failed in these minutes, in the seconds with a cross: 2 with SHARD_UNAVAILABLE, 1 with DEADLINE.',
  )
})
