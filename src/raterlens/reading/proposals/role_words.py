"""What columns are called, in English, German, French, Spanish, Italian, Portuguese and Dutch."""

import re
import unicodedata
from functools import cache


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(", "))


# The usual names, then those that are taken only where there is none of the usual ones.
USUAL: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "student": (
        _words(
            "student, person, pid, examinee, candidate, testtaker, test taker, Prüfling, Schüler, Schülerin, "
            "Studierende, Kandidat, Kandidatin, Matrikel, Proband, candidat, élève, étudiant, étudiante, estudiante, "
            "alumno, alumna, candidato, candidata, studente, studentessa, alunno, alunna, esaminando, allievo, "
            "estudante, aluno, aluna, leerling, kandidaat"
        ),
        _words(
            "subject, respondent, participant, pupil, learner, applicant, essay, script, response, sample, example, "
            "answer, submission, document, doc, text, passage, case, conversation, dialogue, instance, unit, output, "
            "completion, artifact, image, Teilnehmer, Teilnehmerin, Bewerber, Aufsatz, Arbeit, Antwort, participante, "
            "partecipante, deelnemer, copie, ensayo, redacción, redação, réponse, respuesta, risposta, resposta, "
            "antwoord, opstel, rédaction"
        ),
    ),
    "rater": (
        _words(
            "rater, judge, annotator, marker, Prüfer, Prüferin, Bewerter, Bewerterin, Korrektor, Korrektorin, "
            "Beurteiler, Gutachter, correcteur, correctrice, examinateur, examinatrice, juge, évaluateur, "
            "évaluatrice, evaluador, evaluadora, corrector, correctora, examinador, examinadora, juez, calificador, "
            "valutatore, valutatrice, correttore, correttrice, esaminatore, giudice, avaliador, avaliadora, corretor, "
            "corretora, juiz, juíza, beoordelaar, examinator, nakijker, jurylid"
        ),
        _words(
            "scorer, grader, assessor, examiner, reviewer, evaluator, coder, worker, labeler, labeller, rated by, "
            "marked by, graded by, scored by, completed by, annotated by, teacher, judge model, judge llm, llm judge, "
            "username, user, Lehrkraft, Lehrer, Lehrerin, enseignant, professeur, profesor, profesora, docente, "
            "professor, professora, docent, jury, jurado, Jury, llm"
        ),
    ),
    "item": (
        _words(
            "item, criterion, task, question, Aufgabe, Kriterium, Frage, Teilaufgabe, critère, tâche, exercice, "
            "criterio, pregunta, tarea, ítem, ejercicio, domanda, compito, esercizio, quesito, critério, questão, "
            "pergunta, tarefa, exercício, opdracht, vraag, taak, onderdeel"
        ),
        _words(
            "trait, criteria, dimension, aspect, prompt, rubric, Merkmal, Aspekt, épreuve, aspecto, dimensión, "
            "aspetto, dimensione, dimensão, metric"
        ),
    ),
    "score": (
        _words(
            "score, rating, label, y, Punkte, Punktzahl, Note, Bewertung, Wertung, Urteil, note, points, puntuación, "
            "calificación, puntos, nota, puntaje, punteggio, voto, pontuação, pontos, punten, cijfer, beoordeling"
        ),
        _words(
            "verdict, mark, grade, pass, passed, outcome, result, judgment, judgement, decision, winner, preference, "
            "preferred, correct, is correct, stars, value, annotation, Ergebnis, bestanden, résultat, réussi, "
            "resultado, aprobado, risultato, esito, superato, aprovado, resultaat, geslaagd, valutazione, évaluation, "
            "evaluación, avaliação, marks, overall"
        ),
    ),
}
IDENTIFIERS = _words("id, uid, uuid, key, index, name, Name, nom, nombre, nome, naam, Kennung, code, nr")
"""Names of whatever is rated, where nothing else is."""
FORM_SENDERS = _words(
    "your name, email address, email, e mail, username, Ihr Name, Dein Name, E-Mail-Adresse, votre nom, adresse "
    "e-mail, tu nombre, su nombre, dirección de correo electrónico, il tuo nome, indirizzo email, seu nome, endereço "
    "de e-mail, uw naam, je naam, e-mailadres, rater name, nombre de usuario"
)
"""Who filled in a form: the rater, where each answer has a time."""
TIMES = _words(
    "timestamp, Zeitstempel, horodateur, marca temporal, informazioni cronologiche, tijdstempel, carimbo de "
    "data/hora, submitted at, submission time, completion time, end time, start time"
)
"""When a form was filled in."""
VARIANTS = _words(
    "model, system, engine, generator, variant, assistant, candidate model, bot, modell, modèle"
)
"""Whose answers are rated, beside the question that they answer."""
OTHER = _words(
    "gold, gold label, truth, ground truth, reference, expected, target, correct answer, definitive, known, "
    "age, Alter, âge, edad, età, idade, leeftijd, year, Jahr, année, año, anno, ano, jaar, gender, sex, Geschlecht, "
    "sexe, sexo, sesso, geslacht, school, Schule, école, escuela, scuola, escola, class, Klasse, classe, clase, klas, "
    "group, Gruppe, groupe, grupo, gruppo, groep, date, Datum, fecha, data, datum, day, Tag, time, timestamp, "
    "Zeitstempel, Uhrzeit, horodateur, marca temporal, carimbo de data hora, informazioni cronologiche, tijdstempel, "
    "created at, updated at, duration, Dauer, seconds, minutes, lead time, order, sequence, seq, position, page, "
    "Seite, batch, round, session, Sitzung, occasion, week, month, semester, topic, Thema, weight, confidence, "
    "tokens, cost, latency, length, words, word count, row, Zeile, line, version, epoch, seed, temperature, comment, "
    "comments, remark, remarks, Kommentar, Bemerkung, Bemerkungen, commentaire, commentaires, comentario, "
    "comentarios, commento, commenti, comentário, comentários, opmerking, opmerkingen, feedback, explanation, "
    "rationale, reasoning, notes, seat, room, Raum, centre, center, country, region, language, language code, email, "
    "e mail, lfd nr, nr, no, #, lfd, num, number, rank, Rang, attempt, Versuch, split, fold"
)
"""What columns of small numbers are called that are no scores."""

SUFFIX = re.compile(
    r"_?(ids?|name|no|nr|num|number|code|key|uid|kennung|nummer|kuerzel|kurzel|nom|nombre|nome|naam)$"
)
_PREFIX = re.compile(
    r"^(id|name|nom|nombre|nome|naam|code|nummer|numero|no|nr|n)_"
    r"(de_la_|de_l_|del_|della_|dello_|do_|da_|de_|du_|des_|di_|van_de_|van_|of_the_|of_|der_|l_|d_)?"
)


def plain(name: str) -> str:
    """'Student ID', 'student.id' and 'Étudiant' without what differs between spellings.

    Examples
    --------
    >>> plain("Student ID"), plain("Prüfling"), plain("N° du candidat"), plain("studentId")
    ('student_id', 'prufling', 'n_du_candidat', 'studentid')
    """
    text = unicodedata.normalize("NFKD", name.casefold().replace("n°", "n ").replace("nº", "n "))
    text = "".join(letter for letter in text if not unicodedata.combining(letter))
    return re.sub(r"[^a-z0-9#]+", "_", text).strip("_")


def stems(name: str) -> set[str]:
    """A name as it is, and without what is added to say that it is an identifier.

    Examples
    --------
    >>> sorted(stems("Nom du candidat")), sorted(stems("student_id"))
    (['candidat', 'nom_du_candidat'], ['student', 'student_id'])
    """
    whole = plain(name)
    found = {whole, SUFFIX.sub("", whole), _PREFIX.sub("", whole)}
    found |= {SUFFIX.sub("", stem) for stem in found}
    # A word for the role with a number or in the plural is still one: "raters", but not "judge 1".
    return {stem for stem in found if stem}


@cache
def known(words: tuple[str, ...]) -> frozenset[str]:
    """Words as `plain` has them, with both ways to write German umlauts without dots."""
    pairs = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
    return frozenset(plain(form) for word in words for form in (word, word.translate(pairs)))


def tier(name: str, role: str) -> int | None:
    """How usual a name is for a role: 0, 1, or None where it is not."""
    found = stems(name)
    for rank, words in enumerate(USUAL[role]):
        if found & known(words):
            return rank
    return None


def mentions(name: str, role: str) -> bool:
    """Whether a longer heading has a word for the role in it: "Name of the student you assess"."""
    words = {word for part in plain(name).split("_") for word in (part, part.removesuffix("s"))}
    return bool(words & (known(USUAL[role][0]) | known(USUAL[role][1])))


def is_identifier(name: str) -> bool:
    """Whether a column is called as whatever has an identifier: "id", "sample_id", "key"."""
    whole = plain(name)
    return whole in known(IDENTIFIERS) or SUFFIX.search(whole) is not None


def is_other(name: str) -> bool:
    """Whether a column is called as something that is neither a role nor a score."""
    return bool({plain(name), *stems(name)} & known(OTHER))


def usual_role(name: str) -> str | None:
    """The role that a name, singular or plural, is usual for."""
    whole = plain(name)
    forms = stems(name) | {whole.removesuffix("s"), whole.removesuffix("es")}
    return next(
        (role for role, (usual, other) in USUAL.items() if forms & (known(usual) | known(other))), None
    )
