import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { expect, test } from 'vitest'

const FILE = fileURLToPath(new URL('./contract-of-node-test.ts', import.meta.url))

/** Two thirds of the work of the contract, of the same few tests in four orders. */
const LEFT_OUT = isLong ? [] : ['--test-skip-pattern=/^scans$/']

test('the driver contract runs under node:test too', async () => {
  const args = ['--conditions=@looseleaf/source', '--test', '--test-reporter=tap', ...LEFT_OUT, FILE]
  // Vitest's NODE_OPTIONS and context must not reach the other runner.
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...env } = process.env
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, maxBuffer: 64 * 1024 * 1024 })
  const count = (what: string): number => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(stdout)?.[1])
  expect(count('fail')).toBe(0)
  expect(count('pass')).toBeGreaterThan(100)
  expect(count('skipped')).toBeGreaterThan(0)
})
