import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { WritingConfig } from '../../test/writing-child.ts'
import { createProcesses, type Processes } from './processes.ts'

async function writing(): Promise<Processes<WritingConfig, { readonly n: number }>> {
  const folder = mkdtempSync(join(tmpdir(), 'looseleaf-processes-'))
  const program = new URL('../../test/writing-child.ts', import.meta.url)
  const processes = await createProcesses<WritingConfig, { readonly n: number }>(program, folder, {
    breaks: false,
  })
  onTestFinished(async () => {
    await processes.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  return processes
}

test('a process reports its next write any number of times', async () => {
  const warnings: Error[] = []
  const warned = (warning: Error): void => void warnings.push(warning)
  process.on('warning', warned)
  onTestFinished(() => void process.off('warning', warned))
  const processes = await writing()
  const one = processes.start()
  await one.ready
  for (let i = 0; i < 20; i++) await one.written()
  one.stop()
  const { histories, hanging } = await processes.end(30_000)
  expect(hanging).toBe(0)
  expect(histories[0]!.records.length).toBeGreaterThanOrEqual(20)
  // The process is gone, so it resolves at once.
  await one.written()
  expect(warnings).toEqual([])
})

test('a hanging process is killed at the limit, unless end() has failed before', async () => {
  const processes = await writing()
  const hanging = processes.start()
  await hanging.ready
  expect(await processes.end(100)).toMatchObject({ hanging: 1 })
  expect(hanging.isGone).toBe(true)

  const others = await writing()
  const works = others.start()
  await works.ready
  await others.start({ breaks: true }).gone
  await expect(others.end(1_000)).rejects.toThrow(SyntaxError)
  await setTimeout(1_500)
  expect(works.isGone).toBe(false)
})
