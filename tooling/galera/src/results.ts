import * as results from '@looseleaf-tooling/results'
import { findGalera } from './find-galera.ts'

/** Keeps the newest result of each name, with where and when it was measured; answers its path. */
export function saveResult(name: string, result: object): string {
  return results.saveResult('galera', name, {
    ...results.circumstances(),
    server: findGalera()?.version ?? 'none',
    ...result,
  })
}
