import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const folder = import.meta.dirname
const sources = readdirSync(folder).filter(
  (name) => name.endsWith('-metrics.ts') || name === 'event-counters.ts' || name === 'times.ts',
)
const text = sources.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n')
/** Names of metrics have at least two dots; attributes have one. */
const names = new Set(
  Array.from(text.matchAll(/'((?:looseleaf|db\.client)\.[a-z_]+\.[a-z_]+)'/g), ([, name]) => name as string),
)

/** A name is written in full, or as the last part after another one. */
const isListed = (page: string, name: string): boolean =>
  page.includes(`\`${name}\``) || page.includes(`\`${name.slice(name.lastIndexOf('.'))}\``)

test.each(['../README.md', '../../../docs/observing.md'])('%s names every metric', (path) => {
  expect(names.size).toBeGreaterThan(25)
  const page = readFileSync(join(folder, path), 'utf8')
  expect(
    [...names]
      .filter((name) => !name.startsWith('db.client.connection.') || !/name|state/.test(name))
      .filter((name) => !isListed(page, name)),
  ).toEqual([])
})
