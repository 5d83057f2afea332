import { markup, type Html } from '../kit/html.ts'
import { timeText } from '../kit/text.ts'
import type { RunningAct } from './acts.ts'

/** Id of the form that all buttons of a page submit. It stands outside the refreshed part. */
export const ACT_FORM = 'act'
/** Name of the field of a button that ends a running act. */
export const END = 'end'

/** Renders the button of an act. Its id depends only on the act and its subject, so the focus survives a refresh. */
export function actButton(act: string, about: string, label: string): Html {
  return markup`<button form="${ACT_FORM}" id="${idOf(act, about)}" name="${act}" value="${about}">${label}</button>`
}

/** Renders the button of an act; while that act runs, its state; and nothing while another act on the same subject runs. */
export function actOrState(
  running: readonly RunningAct[],
  act: string,
  about: string,
  label: string,
  runningLabel: string,
): Html {
  const current = running.find((each) => each.about === about)
  if (current === undefined) return actButton(act, about, label)
  return current.name === act ? actState(current, runningLabel) : markup``
}

export function actState(running: RunningAct, label: string): Html {
  const { name: act, about, at, progress, endLabel } = running
  return markup`<span class="now"><strong>${label}</strong> since ${timeText(at)}${progress === '' ? '' : `: ${progress}`}. ${endLabel === undefined ? undefined : markup`<button form="${ACT_FORM}" id="${idOf(act, about)}" name="${END}" value="${about}">${endLabel}</button>`}</span>`
}

/** Returns the id of a button. An id has no spaces. */
export function idOf(act: string, about: string): string {
  return `${act}-${about}`.replaceAll(/\s+/g, '-')
}
