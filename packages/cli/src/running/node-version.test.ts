import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { nodeComplaint } from './node-version.ts'

test('the message for an old Node names the expected and the current version', () => {
  expect(nodeComplaint('20.20.2')).toBe('looseleaf needs Node 22.18 or later; this is Node 20.20.2.')
  expect(nodeComplaint('22.17.9')).toContain('22.17.9')
})

test('versions that engines allows are accepted, including this one', () => {
  for (const version of ['22.18.0', '23.0.0', '24.21.0', process.versions.node]) {
    expect(nodeComplaint(version)).toBeUndefined()
  }
  const file = new URL('../../package.json', import.meta.url)
  const { engines } = JSON.parse(readFileSync(file, 'utf8')) as { engines: { node: string } }
  expect(engines.node).toBe('>=22.18')
})
