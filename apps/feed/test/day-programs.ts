import { bundleOf } from '@looseleaf-tooling/vitest/bundle'
import type { ProgramPaths } from '../src/day/run/start-site.ts'

const program = (name: string): Promise<string> => bundleOf(new URL(`../src/${name}.ts`, import.meta.url))

/** Bundles the processes of a day. */
export async function dayPrograms(): Promise<ProgramPaths> {
  const [web, crawler, deliver] = await Promise.all([
    program('main'),
    program('crawl-main'),
    program('deliver-main'),
  ])
  return { web, crawler, deliver, execArgv: ['--conditions=@looseleaf/source'] }
}
