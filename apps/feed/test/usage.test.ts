import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { dayPrograms } from './day-programs.ts'

test('the site, the crawler and the deliveries print their options for --help, and start nothing', async () => {
  const { web, crawler, deliver, execArgv = [] } = await dayPrograms()
  for (const [program, command, options] of [
    [web, 'npm start --', ['--port', '--data', '--origin', '-h,']],
    [crawler, 'pnpm --filter feed crawl', ['--data', '-h,']],
    [deliver, 'pnpm --filter feed deliver', ['--data', '-h,']],
  ] as const) {
    for (const help of ['--help', '-h']) {
      const run = spawnSync(process.execPath, [...execArgv, program, '--', help], { encoding: 'utf8' })
      expect(run).toMatchObject({ status: 0, stderr: '' })
      const [first, ...lines] = run.stdout.split('\n')
      expect(first).toBe(`Usage: ${command} [options]`)
      expect(lines.flatMap((line) => /^ {2}(\S+) /.exec(line)?.[1] ?? [])).toEqual(options)
    }
  }
})
