# What a script asks a chat model through. A script has no network: what has no answer yet is written
# down and ends the run, and the script is run again from its beginning, with the answers.
import json
import sys

QUESTIONS = "teacher_questions.json"
ANSWERS = "teacher_answers.json"


def _key(question):
    return json.dumps(question, sort_keys=True)


with open(ANSWERS, encoding="utf-8") as _file:
    _answers = {_key(question): answer for question, answer in json.load(_file)}


def ask(prompts, system="", temperature=None, max_tokens=1024, sample=0):
    """The answers to a list of prompts, in its order; None where there is no whole answer.

    The same question has the same answer; with another `sample` it is another question.
    """
    if isinstance(prompts, str) or not all(isinstance(prompt, str) and prompt for prompt in prompts):
        raise TypeError("`prompts` is a list of texts, none of them empty")
    if not isinstance(system, str):
        raise TypeError("`system` is a text")
    if temperature is not None and not 0 <= temperature <= 2:
        raise ValueError("`temperature` is a number from 0 to 2, or None")
    if max_tokens < 1 or sample < 0:
        raise ValueError("`max_tokens` is at least 1, and `sample` at least 0")
    questions = [
        {
            "prompt": prompt,
            "system": system,
            "temperature": None if temperature is None else float(temperature),
            "max_tokens": int(max_tokens),
            "sample": int(sample),
        }
        for prompt in prompts
    ]
    keys = [_key(question) for question in questions]
    unanswered = {key: question for key, question in zip(keys, questions, strict=True) if key not in _answers}
    if unanswered:
        with open(QUESTIONS, "w", encoding="utf-8") as file:
            json.dump(list(unanswered.values()), file)
        sys.exit()
    return [_answers[key] for key in keys]
