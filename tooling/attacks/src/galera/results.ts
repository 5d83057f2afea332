import * as results from '@looseleaf-tooling/kit/results'
import { findGalera } from './find-galera.ts'

/** Saves the newest result of each name, with place and time of the measurement. Returns its path. */
export function saveResult(name: string, result: object): string {
  return results.saveResult('galera', name, {
    ...results.circumstances(),
    server: findGalera()?.version ?? 'none',
    ...result,
  })
}
